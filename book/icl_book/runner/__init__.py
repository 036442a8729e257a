"""The runner: notebooks with parameters, executed once and found again by a digest of what they depend on.

- `plan`: what there is to run, and the address of each run; its digest alone decides what is stale. `reach`:
  the modules that a notebook's numbers can depend on.
- `pairs`: a notebook's `.ipynb`, which is written from its `.py`.
- `execute`: one notebook through papermill, whole or not at all. `record`: what an executed notebook found.
- `single`: one claim, from the cells of its chapter that it needs.
- `schedule`: Snakemake runs what is missing, here or on a cluster.
- `process`: what a process of the book needs of its machine.
- `table`: the tables of a sweep. `again`: every sampled verdict with other random streams.
"""
