"""OpenStack's own integration tests, run in a pod of the cloud that they test.

`facts` Tempest's facts of a cloud, `stage` finds and creates them in a real one, `conf` turns them into tempest.conf,
`exclusions` and `stacks` name excluded tests with reasons, `job` is the pod, `pod/` has its programs, `report` reads
its output, `inventory` compares what exists before and after a run.
"""
