// A provisioner of PersistentVolumes that are folders of an NFS export, which is mounted on /volumes:
// nfs-provisioner NAME SERVER PATH. The claim's name is in the folder's. A deleted volume's folder is
// removed with its content.
package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"
)

const mount = "/volumes"

type provisioner struct{ server, path string }

func (p provisioner) Provision(_ context.Context, options controller.ProvisionOptions) (
	*v1.PersistentVolume, controller.ProvisioningState, error,
) {
	claim := options.PVC
	folder := fmt.Sprintf("%s-%s-%s", claim.Namespace, claim.Name, options.PVName)
	if err := os.MkdirAll(filepath.Join(mount, folder), 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	// The umask does not count, and the user of the pods is not known.
	if err := os.Chmod(filepath.Join(mount, folder), 0o777); err != nil {
		return nil, controller.ProvisioningFinished, err
	}
	return &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: options.PVName},
		Spec: v1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: *options.StorageClass.ReclaimPolicy,
			AccessModes:                   claim.Spec.AccessModes,
			MountOptions:                  options.StorageClass.MountOptions,
			Capacity: v1.ResourceList{
				v1.ResourceStorage: claim.Spec.Resources.Requests[v1.ResourceStorage],
			},
			PersistentVolumeSource: v1.PersistentVolumeSource{
				NFS: &v1.NFSVolumeSource{Server: p.server, Path: filepath.Join(p.path, folder)},
			},
		},
	}, controller.ProvisioningFinished, nil
}

func (p provisioner) Delete(_ context.Context, volume *v1.PersistentVolume) error {
	source := volume.Spec.NFS
	if source == nil || filepath.Dir(source.Path) != filepath.Clean(p.path) {
		return &controller.IgnoredError{Reason: "the volume is not below this export"}
	}
	return os.RemoveAll(filepath.Join(mount, filepath.Base(source.Path)))
}

func main() {
	ctx := context.Background()
	config, err := rest.InClusterConfig()
	if err != nil {
		klog.Fatal(err)
	}
	p := provisioner{server: os.Args[2], path: os.Args[3]}
	client := kubernetes.NewForConfigOrDie(config)
	controller.NewProvisionController(ctx, client, os.Args[1], p, controller.LeaderElection(false)).Run(ctx)
}
