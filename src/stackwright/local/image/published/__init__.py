"""Complete images: all layers, compressed, as registries want them; and charts.

    oci       descriptors, manifests, indexes        connection  to a registry
    archived  images of the cache, not compressed    push        to a registry
    layout    the folder of complete images          verify      what a registry has
    transfer  to and from a file                     needed      what a cloud needs
    tar       the format of the file                 layers      what those of a file contain
    charts    packages for Helm, in a registry

The file and the folder are OCI image layouts. What is in a file is checked before any of it is used.
"""
