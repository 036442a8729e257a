"""Write the fingerprints of a source: python book/sources/fingerprint.py KEY FILE --reference ... --how ...

The text itself is not stored. See `icl_book.claims.quotes`.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from icl.files import write_atomically
from icl_book.claims.quotes import SOURCES, fingerprints


def main() -> None:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("key", help="short name, as in a claim's place")
    parser.add_argument("file", type=Path, help="text of the source")
    parser.add_argument("--reference", required=True, help="what it is, in full")
    parser.add_argument("--how", required=True, help="how it was read")
    args = parser.parse_args()
    text = args.file.read_text(encoding="utf-8")
    record = {"reference": args.reference, "how": args.how} | fingerprints(text)
    lines = json.dumps(record, ensure_ascii=False, separators=(",", ":")).replace(
        '","', '",\n"'
    )
    write_atomically(SOURCES / f"{args.key}.json", lines + "\n")


if __name__ == "__main__":
    main()
