"""Reports about models: an HTML page, and its plots as figures.

A notebook displays a figure, and ``save`` writes it as SVG.

>>> figure = roc_plot([1, 0, 1, 0], [0.9, 0.4, 0.6, 0.7])
>>> figure.caption
'Area 75.0 %: the share of pairs, positive and negative, in the right order.'
"""

from hornbeam.drawing.figure import Figure
from hornbeam.report.html.page import Report, report
from hornbeam.report.html.summary import About
from hornbeam.report.plots.fit import effort_plot, learning_plot
from hornbeam.report.plots.predictions import calibration_plot, precision_recall_plot, roc_plot, score_plot
from hornbeam.report.plots.schema_graph import schema_graph

__all__ = [
    "About",
    "Figure",
    "Report",
    "calibration_plot",
    "effort_plot",
    "learning_plot",
    "precision_recall_plot",
    "report",
    "roc_plot",
    "schema_graph",
    "score_plot",
]
