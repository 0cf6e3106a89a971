# What the scripts of a member share. Read by bash from start.sh and state.sh.

HOME_DIR=/var/lib/etcd       # the volume
DATA=$HOME_DIR/data
FORMED=$HOME_DIR/formed      # this member has been part of a working cluster
JOINING=$HOME_DIR/joining    # the cluster that it is about to join, as a member that has never begun
FORMING=/tmp/forming         # it is about to make a cluster with the others

has_data() { compgen -G "$DATA/member/wal/*.wal" >/dev/null; }
