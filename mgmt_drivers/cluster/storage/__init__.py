"""The storage server: Cinder volumes, exported over NFS, as PersistentVolumes."""
