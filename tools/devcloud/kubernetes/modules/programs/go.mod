// Programs that cannot be built as they are published. The series build them, with their own
// versions of what is required here.
module devcloud.example/programs

go 1.26.0

require (
	github.com/coredns/coredns v1.14.2
	github.com/flannel-io/flannel v0.28.10
	google.golang.org/grpc v1.80.0
	google.golang.org/protobuf v1.36.11
	k8s.io/cri-api v0.36.3
)
