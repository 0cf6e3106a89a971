#!/bin/bash
# Runs ovn-controller on a node: it brings the flows that concern the node into its switch.
#
# What differs from node to node is in Open vSwitch's database: where tunnels begin, the datapath, and whether routers
# may have their gateway here (GATEWAYS are the names of the nodes that may).
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

southbound=$(remote "$SOUTHBOUND" "$SOUTHBOUND_PORT") || exit 1
options=
[[ " $GATEWAYS " != *" $NODE_NAME "* ]] || options=enable-chassis-as-gw
ovs-vsctl --db=unix:$RUN/db.sock --timeout=20 set Open_vSwitch . \
    external_ids:ovn-remote="\"$southbound\"" external_ids:ovn-remote-probe-interval=60000 \
    external_ids:ovn-encap-type=geneve external_ids:ovn-encap-ip="$(<$RUN/tunnel-address)" \
    external_ids:ovn-bridge=br-int external_ids:ovn-bridge-datapath-type="$(<$RUN/datapath)" \
    external_ids:ovn-bridge-mappings="\"$BRIDGE_MAPPINGS\"" external_ids:ovn-cms-options="\"$options\"" ||
    fail "cannot configure Open vSwitch on node $NODE_NAME"
mkdir -p /run/ovn
# The order to stop ends it at once and leaves flows and registration, with which the next one goes on.
exec ovn-controller unix:$RUN/db.sock --unixctl=/tmp/ovn-controller.ctl -vconsole:info -vsyslog:off -vfile:off
