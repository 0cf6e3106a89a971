#!/bin/bash
# Runs the manager, which counts what pools and OSDs hold. It keeps nothing.
. /opt/stackwright/lib.sh

prepare() {
    identify mgr.ceph || return 1
    daemon=(ceph-mgr -f -i ceph --mgr-data $RUN)
}

supervise
