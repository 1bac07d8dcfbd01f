"""What pip asks for a wheel of this folder (PEP 517). `cargo xtask wheel` makes it."""

import os
import subprocess
from typing import Dict, Optional

_ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class UnsupportedOperation(Exception):
    """pip asks for this name."""


def build_wheel(
    wheel_directory: str, config_settings: Optional[Dict[str, str]] = None, metadata_directory: Optional[str] = None
) -> str:
    """Puts the wheel into the folder, and returns its name."""
    command = ["cargo", "xtask", "wheel", "--out", os.path.abspath(wheel_directory)]
    made = subprocess.run(command, cwd=_ROOT, check=True, stdout=subprocess.PIPE)
    return os.path.basename(made.stdout.decode().splitlines()[-1])


def build_sdist(sdist_directory: str, config_settings: Optional[Dict[str, str]] = None) -> str:
    """There is none: the recorder is built of the whole repository."""
    raise UnsupportedOperation("alloc-tracker has no source archive of its Python package alone")
