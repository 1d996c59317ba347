"""Model -> plain Kubernetes objects, one module an object; pure. May import `resolved` and what that imports."""
