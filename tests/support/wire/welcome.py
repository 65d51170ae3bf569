"""What the daemon says first."""

WELCOME = (
    b'{"id":%d,"ok":true,"result":{"version":"0","workspace":"","pid":1,"read_only":false,"seq":0,"protocol":1}}\n'
)
