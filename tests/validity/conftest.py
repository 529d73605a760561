"""Prints what the validity tests measured, asserted or not."""


def pytest_terminal_summary(terminalreporter):
    lines = [
        str(value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", None) == "call"
        for name, value in getattr(report, "user_properties", [])
        if name == "validity"
    ]
    if lines:
        terminalreporter.section("measured error rates")
        for line in sorted(lines):
            terminalreporter.write_line(line)
