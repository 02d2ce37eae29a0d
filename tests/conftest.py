"""How random tests run, and where shared test code is found."""

import os
import sys
from pathlib import Path

from hypothesis import HealthCheck, settings

# Tests are imported by path, not as packages: shared modules such as strategies are found here.
sys.path.insert(0, str(Path(__file__).parent))

from strategies import CASES

# With the default number a run is repeatable: what is red stays red. A long run looks further each time.
settings.register_profile(
    "hornbeam",
    deadline=None,
    derandomize="HORNBEAM_CASES" not in os.environ,
    max_examples=max(CASES // 10, 1),
    suppress_health_check=[HealthCheck.too_slow],
    print_blob=True,
)
settings.load_profile("hornbeam")
