// The CNI plugin of flannel, from the last reference plugins that had it: flannel's own cannot
// be had from the module proxy. A newer CNI library than theirs takes configurations of today;
// tidy stumbles over a test of theirs: `go build -mod=mod tool` brings go.sum up to date.
module devcloud.example/flannel-cni-plugin

go 1.26.0

tool github.com/containernetworking/plugins/plugins/meta/flannel

require (
	github.com/containernetworking/cni v1.3.0
	github.com/containernetworking/plugins v0.9.1
)

require (
	github.com/vishvananda/netns v0.0.4 // indirect
	golang.org/x/sys v0.23.0 // indirect
)
