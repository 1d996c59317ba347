"""A Pulumi policy pack: the checks of a review for whatever Strimzi objects a program deploys."""
