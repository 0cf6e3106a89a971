"""OpenStack's own integration tests, run in a pod of the cloud that they test.

`facts` what Tempest must know of a cloud, `stage` finds and makes it in a real one, `conf` turns it into
tempest.conf, `exclusions` says what is left out and why, `job` is the pod, `pod/` is what runs in it, `report` reads
what it says.
"""
