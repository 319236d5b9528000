// As much of crictl as kubeadm asks of it: Debian has no package of cri-tools.
// It speaks CRI to the runtime through kubelet's own client.
package main

import (
	"encoding/json"
	"fmt"
	"os"
	"time"

	runtimeapi "k8s.io/cri-api/pkg/apis/runtime/v1alpha2"
	"k8s.io/kubernetes/pkg/kubelet/cri/remote"
)

const timeout = 10 * time.Minute

func main() {
	endpoint, words := arguments(os.Args[1:])
	if len(words) == 0 {
		fail(fmt.Errorf("usage: crictl [-r ENDPOINT] info | pods -q | stopp ID | rmp ID | pull IMAGE | inspecti IMAGE"))
	}
	runtime, err := remote.NewRemoteRuntimeService(endpoint, timeout)
	fail(err)
	images, err := remote.NewRemoteImageService(endpoint, timeout)
	fail(err)
	name := words[len(words)-1]
	switch words[0] {
	case "info":
		status, err := runtime.Status()
		fail(err)
		show(status)
	case "pods":
		pods, err := runtime.ListPodSandbox(nil)
		fail(err)
		for _, pod := range pods {
			fmt.Println(pod.Id)
		}
	case "stopp":
		fail(runtime.StopPodSandbox(name))
	case "rmp":
		fail(runtime.RemovePodSandbox(name))
	case "pull":
		_, err := images.PullImage(&runtimeapi.ImageSpec{Image: name}, nil, nil)
		fail(err)
	case "inspecti":
		image, err := images.ImageStatus(&runtimeapi.ImageSpec{Image: name})
		fail(err)
		if image == nil {
			fail(fmt.Errorf("no such image %s", name))
		}
		show(image)
	default:
		fail(fmt.Errorf("%s: not known to this crictl", words[0]))
	}
}

// arguments takes the endpoint out of the words of the command line.
func arguments(given []string) (string, []string) {
	endpoint := "unix:///run/containerd/containerd.sock"
	words := []string{}
	for i := 0; i < len(given); i++ {
		if given[i] == "-r" && i+1 < len(given) {
			i++
			endpoint = given[i]
		} else {
			words = append(words, given[i])
		}
	}
	return endpoint, words
}

func show(value interface{}) {
	text, err := json.MarshalIndent(value, "", "  ")
	fail(err)
	fmt.Println(string(text))
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
