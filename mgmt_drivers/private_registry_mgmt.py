from tacker.vnfm.mgmt_drivers import vnflcm_noop
class PrivateRegistryMgmtDriver(vnflcm_noop.VnflcmMgmtNoop):
    def get_type(self): return 'mgmt-drivers-private-registry'
