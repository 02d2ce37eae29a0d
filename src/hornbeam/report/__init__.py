"""What people see of a model: one page of HTML, and the plots in it as figures."""

from hornbeam.report.page import Report, report
from hornbeam.report.summary import About

__all__ = ["About", "Report", "report"]
