"""``python -m icl_book``: the runner."""

import sys

from icl_book.runner.cli import main

sys.exit(main())
