"""After deployment: is the certificate still believed? Evidence from feedback, kept in a database."""

DEFAULT_STORE = "surecut-monitor.db"
