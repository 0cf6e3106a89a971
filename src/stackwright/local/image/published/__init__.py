"""Complete images: all layers, compressed, as registries want them.

    oci       descriptors, manifests, indexes           push      to a registry
    archived  images of the cache, not compressed       transfer  to and from a file
    layout    the folder of complete images             tar       the format of the file

The file and the folder are OCI image layouts. What is in a file is checked before any of it is used.
"""
