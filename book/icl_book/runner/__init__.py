"""The runner.

- `plan`: what there is to run, and the address of each run. `execute`: one notebook through papermill.
- `record`: what an executed notebook found, and whether its file is whole. `folders`: temporary folders.
- `preload`: a process that forks kernels with everything imported; `provisioner`: how papermill gets them.
- `cli`: the command line, ``python -m icl_book``.
"""
