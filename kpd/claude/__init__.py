"""The client of the model service: questions, answers, costs. Only `service` imports the vendor's library."""
