# SPDX-License-Identifier: GPL-3.0-or-later
"""Says whether two runs of one prompt, on two devices in float32, agree.

    compare_runs.py BASE_A BASE_B     reads BASE.json (ecokv run --json) and BASE.ecokv.h5 (--trace)

Answers, ledgers and kept tokens must be equal, numbers close. Without h5py only the JSON is compared.
"""

import json
import sys

# Relative to the largest value of the dataset: two devices sum in different orders.
TOLERANCE = 1e-3


def differences_of_json(first: dict, second: dict) -> list[str]:
    names = ("policy", "prompt_tokens", "token_ids", "ledger")
    return [f"{name}: {first[name]} against {second[name]}" for name in names if first[name] != second[name]]


def differences_of_traces(first: str, second: str) -> tuple[list[str], float]:
    """What differs, and the largest relative difference of all numbers."""
    import h5py
    import numpy

    found: list[str] = []
    largest = 0.0
    with h5py.File(first) as one, h5py.File(second) as two:

        def compare(name: str, item: object) -> None:
            nonlocal largest
            if not isinstance(item, h5py.Dataset) or item.dtype.kind not in "iuf":
                return
            a, b = item[()], two[name][()]
            if a.shape != b.shape:
                found.append(f"{name}: {a.shape} against {b.shape}")
            elif item.dtype.kind != "f":
                count = int((a != b).sum())
                if count:
                    found.append(f"{name}: {count} of {a.size} differ")
            elif a.size:
                if (numpy.isfinite(a) != numpy.isfinite(b)).any():
                    found.append(f"{name}: not finite at different places")
                scale = numpy.nanmax(numpy.abs(a), initial=0)
                apart = numpy.nanmax(numpy.abs(a - b), initial=0) / (scale if scale > 0 else 1)
                largest = max(largest, float(apart))
                if apart > TOLERANCE:
                    found.append(f"{name}: {apart:.2g} apart")

        one.visititems(compare)
    return found, largest


def main() -> int:
    bases = sys.argv[1:3]
    first, second = (json.load(open(f"{base}.json", encoding="utf-8")) for base in bases)
    found = differences_of_json(first, second)
    detail = "h5py is missing: traces not compared"
    try:
        apart, largest = differences_of_traces(*(f"{base}.ecokv.h5" for base in bases))
        found += apart
        detail = f"same kept tokens, numbers within {largest:.1g}"
    except ImportError:
        pass
    for line in found:
        print("DIFFERENT", line)
    if not found:
        print(f"{first['policy']}: same answer {first['answer']!r} and ledger on {first['device']} and "
              f"{second['device']}; {detail}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
