"""The runner.

- `plan`: what there is to run, and the address of each run. `execute`: one notebook through papermill.
- `cli`: the command line, ``python -m icl_book``.
"""
