# Keys of QEMU for disks in Ceph; sourced.
#
# Each client in CEPH has a folder in /run/secrets/ceph (key, secret_uuid) and becomes a secret of libvirt. libvirt keeps its
# secrets as files on the node, <uuid>.xml and <uuid>.base64, also across reboots. Before libvirt starts, this script writes
# the files, so that no virtual machine starts without its key; while libvirt runs, it uses virsh.

CLIENTS=/run/secrets/ceph
SECRETS=/etc/libvirt/secrets

# definition CLIENT UUID: prints the XML of a secret. Its description identifies secrets of Stackwright.
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

# publish_ceph_secrets WRITE FORGET: creates, updates and deletes libvirt's secrets by the functions of these names. A secret
# is deleted if its client was removed or has a different UUID now; it is kept if only the client's Secret is missing.
publish_ceph_secrets() {
    local client file uuid wanted failed=0
    for file in "$SECRETS"/*.xml; do
        client=$(sed -n 's|.*<description>Stackwright: Ceph client \(.*\)</description>.*|\1|p' "$file" 2>/dev/null || true)
        uuid=${file##*/} uuid=${uuid%.xml}
        [[ -n $client ]] || continue # not managed by Stackwright, or no file
        wanted=$(cat "$CLIENTS/$client/secret_uuid" 2>/dev/null || true)
        [[ " $CEPH " == *" $client "* && ${wanted:-$uuid} == "$uuid" ]] || "$2" "$uuid" || failed=1
    done
    for client in $CEPH; do
        [[ -s $CLIENTS/$client/key && -s $CLIENTS/$client/secret_uuid ]] || continue
        uuid=$(<"$CLIENTS/$client/secret_uuid")
        # A key is base64 already, and libvirt stores it in that form.
        [[ -e $SECRETS/$uuid.xml && $(cat "$SECRETS/$uuid.base64" 2>/dev/null) == "$(<"$CLIENTS/$client/key")" ]] ||
            "$1" "$client" "$uuid" || failed=1
    done
    return "$failed"
}

# For publish_ceph_secrets while libvirt does not run.
write() {
    (umask 077 && definition "$1" "$2" >"$SECRETS/$2.xml" && printf %s "$(<"$CLIENTS/$1/key")" >"$SECRETS/$2.base64")
}

forget() {
    rm -f "$SECRETS/$1.xml" "$SECRETS/$1.base64"
}

# For publish_ceph_secrets while libvirt runs.
tell_to_write() {
    definition "$1" "$2" | virsh --quiet --connect qemu:///system secret-define /proc/self/fd/0 >/dev/null &&
        virsh --quiet --connect qemu:///system secret-set-value "$2" --file "$CLIENTS/$1/key" &&
        echo "Ceph client $1: libvirt has its key"
}

tell_to_forget() {
    virsh --quiet --connect qemu:///system secret-undefine "$1"
}

# follow_ceph_secrets: updates keys in the running libvirt. Running virtual machines keep their connections.
follow_ceph_secrets() {
    while sleep 10; do
        publish_ceph_secrets tell_to_write tell_to_forget || true # retried in the next iteration
    done
}
