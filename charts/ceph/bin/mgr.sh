#!/bin/bash
# Runs the manager, which collects the usage of pools and OSDs. It has no persistent data.
. /opt/stackwright/lib.sh

prepare() {
    identify mgr.ceph || return 1
    daemon=(ceph-mgr -f -i ceph --mgr-data $RUN)
}

supervise
