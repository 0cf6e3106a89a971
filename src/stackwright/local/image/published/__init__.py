"""Complete images: all layers, compressed, as registries require them; and charts.

    oci       descriptors, manifests, indexes        connection  to a registry
    archived  images of the cache, not compressed    push        to a registry
    layout    the folder of complete images          verify      images of a registry
    transfer  to and from a file                     needed      images of a cloud
    tar       the format of the file                 layers      contents of a file's layers
    charts    packages for Helm, in a registry

The file and the folder are OCI image layouts. The content of a file is checked before it is used.
"""
