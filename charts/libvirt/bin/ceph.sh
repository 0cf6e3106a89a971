# The keys by which QEMU opens disks in Ceph; to be sourced.
#
# Each client of CEPH is a folder of /run/secrets/ceph (key, secret_uuid) and becomes a secret of libvirt, which keeps them
# on the node, <uuid>.xml and <uuid>.base64, where they outlast a power cut. Before it starts they are written there, so
# that no virtual machine comes up without; once it runs it has to be told.

CLIENTS=/run/secrets/ceph
SECRETS=/etc/libvirt/secrets

# definition CLIENT UUID. By its description we know our own.
definition() {
    cat <<END
<secret ephemeral='no' private='yes'>
  <uuid>$2</uuid>
  <description>Stackwright: Ceph client $1</description>
  <usage type='ceph'>
    <name>stackwright $1</name>
  </usage>
</secret>
END
}

# publish_ceph_secrets WRITE FORGET: makes libvirt's secrets those of the clients, by the functions of these names. A client
# whose Secret is not there keeps what it has; a secret goes when its client did, or has another UUID now.
publish_ceph_secrets() {
    local client file uuid wanted failed=0
    for file in "$SECRETS"/*.xml; do
        client=$(sed -n 's|.*<description>Stackwright: Ceph client \(.*\)</description>.*|\1|p' "$file" 2>/dev/null || true)
        uuid=${file##*/} uuid=${uuid%.xml}
        [[ -n $client ]] || continue # somebody else's, or none
        wanted=$(cat "$CLIENTS/$client/secret_uuid" 2>/dev/null || true)
        [[ " $CEPH " == *" $client "* && ${wanted:-$uuid} == "$uuid" ]] || "$2" "$uuid" || failed=1
    done
    for client in $CEPH; do
        [[ -s $CLIENTS/$client/key && -s $CLIENTS/$client/secret_uuid ]] || continue
        uuid=$(<"$CLIENTS/$client/secret_uuid")
        # A key is base64 already, and in that form libvirt keeps it.
        [[ -e $SECRETS/$uuid.xml && $(cat "$SECRETS/$uuid.base64" 2>/dev/null) == "$(<"$CLIENTS/$client/key")" ]] ||
            "$1" "$client" "$uuid" || failed=1
    done
    return "$failed"
}

# While libvirt does not run.
write() {
    (umask 077 && definition "$1" "$2" >"$SECRETS/$2.xml" && printf %s "$(<"$CLIENTS/$1/key")" >"$SECRETS/$2.base64")
}

forget() {
    rm -f "$SECRETS/$1.xml" "$SECRETS/$1.base64"
}

# While it does.
tell_to_write() {
    definition "$1" "$2" | virsh --quiet --connect qemu:///system secret-define /proc/self/fd/0 >/dev/null &&
        virsh --quiet --connect qemu:///system secret-set-value "$2" --file "$CLIENTS/$1/key" &&
        echo "Ceph client $1: libvirt has its key"
}

tell_to_forget() {
    virsh --quiet --connect qemu:///system secret-undefine "$1"
}

# follow_ceph_secrets: of a new key a running libvirt is told; machines that run keep the connections they have.
follow_ceph_secrets() {
    while sleep 10; do
        publish_ceph_secrets tell_to_write tell_to_forget || true # again in the next round
    done
}
