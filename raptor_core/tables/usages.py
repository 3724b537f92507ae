"""What summaries were paid for as a data frame, and back: a row for each text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from raptor_core.money.usage import Usage

if TYPE_CHECKING:
    import pandas as pd

USAGE_COLUMNS = ("content_key", "calls", "prompt_tokens", "completion_tokens", "retries", "usd")


def usages_to_frame(usages: Mapping[str, Usage]) -> pd.DataFrame:
    """One row per content key, sorted; ``usd`` is empty where no price was set."""
    import pandas as pd

    rows = [
        (key, used.calls, used.prompt_tokens, used.completion_tokens, used.retries, used.usd)
        for key, used in sorted(usages.items())
    ]
    return pd.DataFrame(rows, columns=list(USAGE_COLUMNS)).astype({"usd": "float64"})


def frame_to_usages(frame: pd.DataFrame) -> dict[str, Usage]:
    """The usages of a frame that ``usages_to_frame`` made, by content key."""
    import pandas as pd

    return {
        str(row["content_key"]): Usage(
            int(row["calls"]),
            int(row["prompt_tokens"]),
            int(row["completion_tokens"]),
            int(row["retries"]),
            None if pd.isna(row["usd"]) else float(row["usd"]),
        )
        for row in frame.to_dict("records")
    }
