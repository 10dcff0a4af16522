"""Models of other programs in, and ours out for other programs."""

from __future__ import annotations

from regard.interop.export import Exported, ExportFormat, export_run
from regard.interop.import_model import ImportFormat, ImportResult, import_model, is_foreign

__all__ = ["ExportFormat", "Exported", "ImportFormat", "ImportResult", "export_run", "import_model", "is_foreign"]
