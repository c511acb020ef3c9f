"""What is known of the machine that programs run on."""

from sdgrad.machine.model import Machine

__all__ = ["Machine"]
