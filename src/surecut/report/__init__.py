"""The report: everything a certificate and its data say, as one page, as Markdown, or as figures."""
