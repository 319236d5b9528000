// As much of crictl as an administrator asks of it. It shows what the runtime
// answers over CRI, as JSON; IDs may be given by their first digits.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const (
	usage = `usage: crictl [-r ENDPOINT] COMMAND
  version | info | ps [-a] | pods [-q] | images
  inspect CONTAINER | stop CONTAINER | rm CONTAINER
  inspectp POD | stopp POD | rmp POD
  inspecti IMAGE | pull IMAGE | rmi IMAGE`
	endpoint = "unix:///run/containerd/containerd.sock"
	timeout  = 10 * time.Minute
)

func main() {
	at, words := endpoint, os.Args[1:]
	if len(words) > 1 && (words[0] == "-r" || words[0] == "--runtime-endpoint") {
		at, words = words[1], words[2:]
	}
	if len(words) == 0 {
		fail(errors.New(usage))
	}
	if words[0] == "--version" {
		build, _ := debug.ReadBuildInfo()
		for _, module := range build.Deps {
			if module.Path == "k8s.io/cri-api" {
				fmt.Println("crictl of tools.devcloud, cri-api", effective(module).Version)
			}
		}
		return
	}
	connection, err := grpc.NewClient(at, grpc.WithTransportCredentials(insecure.NewCredentials()))
	fail(err)
	within, cancel := context.WithTimeout(context.Background(), timeout)
	defer cancel()
	answer, err := call(within, connection, words)
	fail(err)
	if pods, ok := answer.(*cri.ListPodSandboxResponse); ok && slices.Contains(words, "-q") {
		for _, pod := range pods.Items {
			fmt.Println(pod.Id)
		}
		return
	}
	fmt.Println(protojson.Format(answer))
}

// call asks the runtime what the words of the command line say.
func call(c context.Context, connection *grpc.ClientConn, words []string) (proto.Message, error) {
	runtime, images := cri.NewRuntimeServiceClient(connection), cri.NewImageServiceClient(connection)
	last := words[len(words)-1]
	image := &cri.ImageSpec{Image: last}
	switch words[0] {
	case "version":
		return runtime.Version(c, &cri.VersionRequest{})
	case "info":
		return runtime.Status(c, &cri.StatusRequest{Verbose: true})
	case "ps":
		running := &cri.ContainerFilter{
			State: &cri.ContainerStateValue{State: cri.ContainerState_CONTAINER_RUNNING},
		}
		if last == "-a" {
			running = nil
		}
		return runtime.ListContainers(c, &cri.ListContainersRequest{Filter: running})
	case "pods":
		return runtime.ListPodSandbox(c, &cri.ListPodSandboxRequest{})
	case "images":
		return images.ListImages(c, &cri.ListImagesRequest{})
	}
	if len(words) != 2 {
		return nil, fmt.Errorf("%s\nnot known, or a name is missing: %s", usage, words)
	}
	switch words[0] {
	case "inspect":
		return runtime.ContainerStatus(c, &cri.ContainerStatusRequest{ContainerId: last, Verbose: true})
	case "stop":
		return runtime.StopContainer(c, &cri.StopContainerRequest{ContainerId: last})
	case "rm":
		return runtime.RemoveContainer(c, &cri.RemoveContainerRequest{ContainerId: last})
	case "inspectp":
		return runtime.PodSandboxStatus(c, &cri.PodSandboxStatusRequest{PodSandboxId: last, Verbose: true})
	case "stopp":
		return runtime.StopPodSandbox(c, &cri.StopPodSandboxRequest{PodSandboxId: last})
	case "rmp":
		return runtime.RemovePodSandbox(c, &cri.RemovePodSandboxRequest{PodSandboxId: last})
	case "inspecti":
		return images.ImageStatus(c, &cri.ImageStatusRequest{Image: image, Verbose: true})
	case "pull":
		return images.PullImage(c, &cri.PullImageRequest{Image: image})
	case "rmi":
		return images.RemoveImage(c, &cri.RemoveImageRequest{Image: image})
	}
	return nil, fmt.Errorf("%s\nnot known: %s", usage, words[0])
}

func effective(module *debug.Module) *debug.Module {
	if module.Replace != nil {
		return module.Replace
	}
	return module
}

func fail(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
