"""From files to a verdict: build, check, time, judge, roofline."""
