# Certificates for live migration and consoles; sourced.
#
# They are copied from the Secrets (folders TLS and QEMU_TLS) to /etc/pki, a folder of the node. A QEMU process that an earlier
# pod started still sees this folder, but not the Secret volumes of this pod, so it can load new certificates from here.
# QEMU must not read libvirt's key, which grants root's rights on all nodes.

publish_certificates() {
    local name target from
    mkdir -p /etc/pki/{CA,libvirt,qemu}
    mkdir -p -m 0700 /etc/pki/libvirt/private
    while read -r name target; do
        from=$TLS
        [[ $target != qemu/* ]] || from=$QEMU_TLS
        [[ -n $from ]] || continue
        (umask 077 && cat "$from/$name" >"/etc/pki/$target.new")
        # QEMU reads its own files with its own user.
        [[ $target != qemu/* ]] || { chgrp "$QEMU_GROUP" "/etc/pki/$target.new" && chmod 0640 "/etc/pki/$target.new"; }
        mv "/etc/pki/$target.new" "/etc/pki/$target"
    done <<'END'
ca.crt CA/cacert.pem
tls.crt libvirt/servercert.pem
tls.crt libvirt/clientcert.pem
tls.key libvirt/private/serverkey.pem
tls.key libvirt/private/clientkey.pem
ca.crt qemu/ca-cert.pem
tls.crt qemu/server-cert.pem
tls.key qemu/server-key.pem
tls.crt qemu/client-cert.pem
tls.key qemu/client-key.pem
END
}

# is_published FOLDER CERTIFICATE CA: whether the files in /etc/pki equal those of a Secret; true without a folder.
is_published() {
    local folder=$1 certificate=$2 authority=$3
    [[ -z $folder ]] ||
        { cmp -s "$folder/tls.crt" "/etc/pki/$certificate" && cmp -s "$folder/ca.crt" "/etc/pki/$authority"; }
}

# follow_certificates: copies new certificates and makes libvirtd reload them, and QEMU for the consoles of virtual machines.
# For migrations QEMU reads them each time.
follow_certificates() {
    local domain
    while sleep 30; do
        is_published "$TLS" libvirt/servercert.pem CA/cacert.pem &&
            is_published "$QEMU_TLS" qemu/server-cert.pem qemu/ca-cert.pem && continue
        publish_certificates
        [[ -z $TLS ]] || virt-admin server-update-tls libvirtd || rm -f /etc/pki/libvirt/servercert.pem # retried in the next iteration
        for domain in $(virsh --quiet --connect qemu:///system list --name); do
            # Fails for a virtual machine that was started without TLS.
            virsh --quiet --connect qemu:///system domdisplay-reload "$domain" || true
        done
    done
}
