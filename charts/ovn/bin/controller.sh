#!/bin/bash
# Runs ovn-controller on a node, which writes the node's flows into its switch.
#
# Options that differ between nodes are in Open vSwitch's database: the tunnel address, the datapath, and whether routers may
# have their gateway on the node (GATEWAYS are the names of such nodes).
set -u
. /opt/stackwright/lib.sh
. /etc/ovn/controller.conf # BRIDGE_MAPPINGS, GATEWAYS
RUN=/run/openvswitch
PATIENCE=120 # seconds

since=$SECONDS
until [[ -S $RUN/db.sock && -e $RUN/datapath && -e $RUN/tunnel-address ]]; do
    ((SECONDS - since < PATIENCE)) ||
        fail "Open vSwitch on node $NODE_NAME is not ready after $PATIENCE s; see its pod there"
    sleep 0.2
done

remotes=$(by_address "$SOUTHBOUND") || exit 1
options=
[[ " $GATEWAYS " != *" $NODE_NAME "* ]] || options=enable-chassis-as-gw
ovs-vsctl --db=unix:$RUN/db.sock --timeout=20 set Open_vSwitch . \
    external_ids:ovn-remote="\"$remotes\"" external_ids:ovn-remote-probe-interval=10000 \
    external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip="$(<$RUN/tunnel-address)" \
    external_ids:ovn-bridge=br-int external_ids:ovn-bridge-datapath-type="$(<$RUN/datapath)" \
    external_ids:ovn-bridge-mappings="\"$BRIDGE_MAPPINGS\"" external_ids:ovn-cms-options="\"$options\"" ||
    fail "cannot configure Open vSwitch on node $NODE_NAME"
mkdir -p /run/ovn
end_if_moved "$SOUTHBOUND" "$remotes" &
# SIGTERM ends it at once and keeps the flows and the chassis record, which the next process uses.
exec ovn-controller unix:$RUN/db.sock "${CERTIFICATE[@]}" --unixctl=/tmp/ovn-controller.ctl "${QUIET[@]}"
