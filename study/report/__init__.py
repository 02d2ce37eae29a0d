"""The report of the study: ``write`` puts it together; every number and sentence comes from the rows."""
