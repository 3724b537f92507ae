"""One HTML page that shows a tree, or the trees of a partition: to explore, search and check."""

from raptor_core.report.data import LayerStatistics, layer_statistics, settings_text
from raptor_core.report.files import report_file_name
from raptor_core.report.page import page_version, render_corpus, render_report, render_window
from raptor_core.report.values import Change, Chosen, Report, ReportTree, change_since

__all__ = [
    "Change",
    "Chosen",
    "LayerStatistics",
    "Report",
    "ReportTree",
    "change_since",
    "layer_statistics",
    "page_version",
    "render_corpus",
    "render_report",
    "render_window",
    "report_file_name",
    "settings_text",
]
