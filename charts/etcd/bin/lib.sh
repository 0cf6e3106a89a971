# Variables and functions of a member, sourced by start.sh and state.sh.

HOME_DIR=/var/lib/etcd       # the volume
DATA=$HOME_DIR/data
FORMED=$HOME_DIR/formed      # this member has been part of a working cluster
JOINING=$HOME_DIR/joining    # the cluster to join: this member was or is about to be added, but never started
FORMING=/tmp/forming         # this member is creating a cluster with the others

has_data() { compgen -G "$DATA/member/wal/*.wal" >/dev/null; }
