"""The play page: one HTML file on which a person fights policies and scripted players of the mock."""
