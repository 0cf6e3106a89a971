# What the compressed files in the image were made with.
COMPRESS_OFFLINE = True
STATIC_ROOT = "/usr/share/openstack-dashboard/static"
WEBROOT = "/"
