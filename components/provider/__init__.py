"""The components as a Pulumi package for programs in any language: a host process, and thin arguments.

Imported by nothing; Pulumi runs this folder, as PulumiPlugin.yaml says.
"""
