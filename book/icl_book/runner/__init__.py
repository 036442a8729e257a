"""The runner: notebooks with parameters, executed once and found again by a digest of what they depend on.

- `plan`: what there is to run, and the address of each run; its digest alone decides what is stale.
- `pairs`: a notebook's `.py` and its `.ipynb`, an edit in either.
- `execute`: one notebook through papermill, whole or not at all. `record`: what an executed notebook found.
- `schedule`: Snakemake runs what is missing, here or on a cluster.
- `table`: the tables of a sweep. `protocol`: the registered run. `again`: replications.
"""
