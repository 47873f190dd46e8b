"""`python -m memoryd` is the command `memoryd`."""

from memoryd.doors.cli import main

main()
