"""The stand-in for a kubelet: runs the Pods of validation Jobs as processes of this machine.

kube-controller-manager makes the Pods. There is no image, no container and no scheduler, so the security context, the
resources and the image of a Pod have no effect here.
"""
