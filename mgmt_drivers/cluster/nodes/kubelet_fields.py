"""The table of facts about the fields of KubeletConfiguration (kubelet.config.k8s.io/v1beta1).

kubelet starts with a field that it does not know, and ignores the field.
"""

from collections.abc import Mapping

# Fields that nodes may be given, by the minor release that brought them (k8s.io/kubelet,
# config/v1beta1/types.go); no release has taken a field away. Kubernetes 1.25 is the first with a
# kubeadm that sets the fields of some nodes.
_BROUGHT: Mapping[int, str] = {
    25: "allowedUnsafeSysctls cgroupRoot cgroupsPerQOS configMapAndSecretChangeDetectionStrategy "
    "containerLogMaxFiles containerLogMaxSize contentType cpuCFSQuota cpuCFSQuotaPeriod "
    "cpuManagerPolicy cpuManagerPolicyOptions cpuManagerReconcilePeriod "
    "enableContentionProfiling enableControllerAttachDetach enableDebugFlagsHandler "
    "enableDebuggingHandlers enableProfilingHandler enableSystemLogHandler "
    "enforceNodeAllocatable eventBurst eventRecordQPS evictionHard evictionMaxPodGracePeriod "
    "evictionMinimumReclaim evictionPressureTransitionPeriod evictionSoft "
    "evictionSoftGracePeriod failSwapOn featureGates fileCheckFrequency hairpinMode "
    "httpCheckFrequency imageGCHighThresholdPercent imageGCLowThresholdPercent "
    "imageMinimumGCAge iptablesDropBit iptablesMasqueradeBit kernelMemcgNotification "
    "kubeAPIBurst kubeAPIQPS kubeReserved kubeReservedCgroup kubeletCgroups "
    "localStorageCapacityIsolation logging makeIPTablesUtilChains maxOpenFiles "
    "memoryManagerPolicy memorySwap memoryThrottlingFactor nodeLeaseDurationSeconds "
    "nodeStatusMaxImages nodeStatusReportFrequency nodeStatusUpdateFrequency oomScoreAdj "
    "podsPerCore providerID qosReserved readOnlyPort registryBurst registryPullQPS "
    "reservedMemory reservedSystemCPUs runOnce runtimeRequestTimeout serializeImagePulls "
    "showHiddenMetricsForVersion shutdownGracePeriod shutdownGracePeriodByPodPriority "
    "shutdownGracePeriodCriticalPods staticPodURL staticPodURLHeader syncFrequency "
    "systemCgroups systemReserved systemReservedCgroup tlsMinVersion topologyManagerPolicy "
    "topologyManagerScope tracing volumePluginDir volumeStatsAggPeriod",
    26: "topologyManagerPolicyOptions",
    27: "enableSystemLogQuery maxParallelImagePulls",
    29: "imageMaximumGCAge",
    30: "containerLogMaxWorkers containerLogMonitorInterval podLogsDir",
    32: "crashLoopBackOff singleProcessOOMKill",
    33: "imagePullCredentialsVerificationPolicy mergeDefaultEvictionSettings "
    "preloadedImagesVerificationAllowlist userNamespaces",
    36: "memoryReservationPolicy tlsCurvePreferences",
    37: "defaultPodSysctls",
}
_SINCE = {field: minor for minor, fields in _BROUGHT.items() for field in fields.split()}


def why_unknown(field: str, minor: int) -> str:
    """Why kubelet 1.``minor`` does not know a field; empty if it does."""
    since = _SINCE.get(field)
    if since is None:
        return f"is no field of KubeletConfiguration in Kubernetes 1.{minor}"
    return f"needs Kubernetes 1.{since} or later" if since > minor else ""
