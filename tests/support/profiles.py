"""How many random problems a property test tries.

In: the environment variable HYPOTHESIS_PROFILE: `dev`, `ci` or `nightly`; without it `ci` where CI is set, else `dev`.
Out: Hypothesis settings and seeds. The one idea: tests state how many problems they try relative to the others, the
profile says how many that is.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

# Examples of a property test that asks for nothing else.
PROFILES = {"dev": 25, "ci": 100, "nightly": 1000}


def load_profile() -> None:
    """Register the profiles and load the one that the environment asks for."""
    for name, max_examples in PROFILES.items():
        settings.register_profile(
            name,
            max_examples=max_examples,
            # Both depend on the machine and on what else it is doing.
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
            print_blob=True,
        )
    settings.load_profile(current_profile())


def current_profile() -> str:
    """Return the name of the profile that the environment asks for."""
    name = os.environ.get("HYPOTHESIS_PROFILE") or ("ci" if os.environ.get("CI") else "dev")
    if name not in PROFILES:
        raise ValueError(f"HYPOTHESIS_PROFILE must be one of {', '.join(PROFILES)}, got {name!r}")
    return name


def examples(factor: float) -> settings:
    """Return settings for `factor` times the examples of the profile: less than 1 for an expensive test."""
    return settings(max_examples=max(1, round(factor * PROFILES[current_profile()])))


def seed_range(n: int) -> range:
    """Return the seeds of a test that tries `n` random problems in the profile `ci`; other profiles in proportion."""
    return range(max(1, round(n * PROFILES[current_profile()] / PROFILES["ci"])))
