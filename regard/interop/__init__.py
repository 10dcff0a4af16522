"""Models of other programs in, and ours out for other programs."""

from __future__ import annotations

from regard.interop.export import Exported, ExportFormat, export_run

__all__ = ["ExportFormat", "Exported", "export_run"]
