"""Sends feedback one by one and prints each id when it is acknowledged; run by test_store.py."""

import sys

from surecut.monitoring.feedback import Feedback
from surecut.monitoring.monitor import Monitor

place, certificate, prefix, count = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])
monitor = Monitor(certificate, place)
for number in range(count):
    name = f"{prefix}{number}" if number % 2 else f"shared{number}"
    monitor.add([Feedback(name, measured=0.4, full=0.5)])
    print(name)
